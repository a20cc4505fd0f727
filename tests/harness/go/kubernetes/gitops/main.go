// Command gitops says what GitOps tools make of an object. It reads requests as JSON, one a line, and answers each with
// one line of JSON. The readers are the tools' own: kstatus, Flux's evaluator of health expressions, and the Lua VM of
// Argo CD with the libraries that Argo CD opens for scripts of its ConfigMap.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	luajson "layeh.com/gopher-json"
)

// request asks one reader about one object.
type request struct {
	Reader string                            `json:"reader"` // kstatus, flux or lua
	Object map[string]any                    `json:"object"`
	Script string                            `json:"script,omitempty"`
	Checks *kustomize.HealthCheckExpressions `json:"checks,omitempty"`
}

// answer is what the reader says: the table that a script returns, or a status and a message.
type answer struct {
	Status  string          `json:"status,omitempty"`
	Message string          `json:"message,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   string          `json:"error,omitempty"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		found, err := read(lines.Bytes())
		if err != nil {
			found = answer{Error: err.Error()}
		}
		if err := answers.Encode(found); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func read(line []byte) (answer, error) {
	var asked request
	if err := json.Unmarshal(line, &asked); err != nil {
		return answer{}, err
	}
	object := &unstructured.Unstructured{}
	raw, err := json.Marshal(asked.Object)
	if err != nil {
		return answer{}, err
	}
	if err := object.UnmarshalJSON(raw); err != nil { // whole numbers as int64, as both readers expect them
		return answer{}, err
	}
	switch asked.Reader {
	case "kstatus":
		return told(status.Compute(object))
	case "flux":
		evaluator, err := cel.NewStatusEvaluator(asked.Checks)
		if err != nil {
			return answer{}, err
		}
		return told(evaluator.Evaluate(context.Background(), object))
	case "lua":
		return run(object.Object, asked.Script)
	}
	return answer{}, fmt.Errorf("no reader %q", asked.Reader)
}

func told(result *status.Result, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return answer{Status: result.Status.String(), Message: result.Message}, nil
}

// run does what Argo CD does with a script: a second, few libraries, the object in `obj`, a table back.
func run(object map[string]any, script string) (answer, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{
		lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable,
	} {
		call := lua.P{Fn: state.NewFunction(open), Protect: true}
		if err := state.CallByParam(call, lua.LString(name)); err != nil {
			return answer{}, err
		}
	}
	// Of `os` Argo CD has the time alone, for whoever requires it.
	state.PreloadModule(lua.OsLibName, func(l *lua.LState) int {
		clock := l.NewTable()
		clock.RawSetString("date", l.NewFunction(func(l *lua.LState) int {
			l.Push(lua.LString(time.Now().UTC().Format("2006-01-02T15:04:05Z"))) // whatever the format: all ask for this
			return 1
		}))
		l.Push(clock)
		return 1
	})
	limit, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	state.SetContext(limit)
	state.SetGlobal("obj", luajson.DecodeValue(state, plain(object)))
	if err := state.DoString(script); err != nil {
		return answer{}, err
	}
	encoded, err := luajson.Encode(state.Get(-1))
	if err != nil {
		return answer{}, err
	}
	var returned any
	if err := json.Unmarshal(encoded, &returned); err != nil {
		return answer{}, err
	}
	result, err := json.Marshal(cleaned(returned, object))
	return answer{Result: result}, err
}

// cleaned has an empty object where the object had one: Lua has one kind of table, and an empty one comes back as a
// list. Argo CD mends what actions return in the same way.
func cleaned(returned, before any) any {
	if list, ok := returned.([]any); ok && len(list) == 0 {
		if object, ok := before.(map[string]any); ok && len(object) == 0 {
			return map[string]any{}
		}
	}
	switch returned := returned.(type) {
	case map[string]any:
		if before, ok := before.(map[string]any); ok {
			for key, field := range returned {
				returned[key] = cleaned(field, before[key])
			}
		}
	case []any:
		if before, ok := before.([]any); ok {
			for index := range min(len(returned), len(before)) {
				returned[index] = cleaned(returned[index], before[index])
			}
		}
	}
	return returned
}

// plain has every number as a float, the only kind that Lua knows.
func plain(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, field := range value {
			value[key] = plain(field)
		}
	case []any:
		for index, item := range value {
			value[index] = plain(item)
		}
	case int64:
		return float64(value)
	}
	return value
}
