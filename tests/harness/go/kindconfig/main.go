// Command kindconfig reads a cluster config as `kind create cluster --config FILE` does, without creating anything:
// strict decoding, defaults, conversion, validation. It prints the number of nodes, or the error and ends with 1.
package main

import (
	"fmt"
	"os"

	"sigs.k8s.io/kind/pkg/internal/apis/config/encoding"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: kindconfig FILE")
		os.Exit(2)
	}
	config, err := encoding.Load(os.Args[1])
	if err == nil {
		err = config.Validate()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%s: nodes: %d\n", config.Name, len(config.Nodes))
}
