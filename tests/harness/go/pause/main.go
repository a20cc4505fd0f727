// Command pause holds the namespaces of a pod: it waits for SIGTERM or SIGINT, and reaps children that were left to it.
//
// With arguments it is a container for tests, in an image that has nothing else: `pause lookup NAME` prints the
// addresses of a name and ends, `pause serve PORT` answers HTTP with "ok" until it is ended.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	switch {
	case len(os.Args) == 3 && os.Args[1] == "lookup":
		lookup(os.Args[2])
	case len(os.Args) == 3 && os.Args[1] == "get":
		get(os.Args[2])
	case len(os.Args) == 3 && os.Args[1] == "serve":
		go serve(os.Args[2])
		wait()
	default:
		wait()
	}
}

func wait() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	for received := range signals {
		if received != syscall.SIGCHLD {
			fmt.Println("ending:", received)
			return
		}
		for {
			if pid, _ := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 {
				break
			}
		}
	}
}

func lookup(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupHost(ctx, name)
	fail(err)
	for _, address := range addresses {
		fmt.Println(address)
	}
}

func get(url string) {
	client := http.Client{Timeout: 10 * time.Second}
	answer, err := client.Get(url)
	fail(err)
	fmt.Println(answer.Status)
}

func serve(port string) {
	fail(http.ListenAndServe(":"+port, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
