// Every operation of the three services with the clients for Go.  Prints "ok NAME" or "FAILED NAME:
// why" for each; tests/sdks/run.py counts the lines.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

var (
	ctx        = context.Background()
	connection = os.Getenv("TAVOLA_CONNECTION")
)

// try runs one step.  A step that panics has failed like one that returns an error.
func try(name string, step func() error) {
	err := func() (err error) {
		defer func() {
			if trouble := recover(); trouble != nil {
				err = fmt.Errorf("%v", trouble)
			}
		}()
		return step()
	}()
	if err != nil {
		fmt.Printf("FAILED %s: %.500q\n", name, err.Error())
	} else {
		fmt.Printf("ok %s\n", name)
	}
}

func want(what string, is, wanted any) error {
	if fmt.Sprint(is) != fmt.Sprint(wanted) {
		return fmt.Errorf("%s is %v, not %v", what, is, wanted)
	}
	return nil
}

// refused is nil when the service has answered with this status and code.
func refused(err error, status int, code string) error {
	var answer *azcore.ResponseError
	if !errors.As(err, &answer) {
		return fmt.Errorf("%d %s was expected, not %v", status, code, err)
	}
	return want("the refusal", fmt.Sprint(answer.StatusCode, answer.ErrorCode), fmt.Sprint(status, code))
}

// must is for steps of a step.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func to[T any](value T) *T { return &value }

func main() {
	tables()
	queues()
	blobs()
}
