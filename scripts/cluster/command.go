package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// command is a program whose output is shown only if it fails.
type command struct {
	args  []string
	env   []string // in addition to this process's environment
	dir   string
	input string
	shown bool // show the output, because it is progress
}

func (c command) run() error {
	_, err := c.output()
	return err
}

func (c command) output() (string, error) {
	cmd := exec.Command(c.args[0], c.args[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdin = append(os.Environ(), c.env...), c.dir, strings.NewReader(c.input)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if c.shown {
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	}
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s: %w\n%s%s", strings.Join(c.args, " "), err, out.String(), problems.String())
	}
	return out.String(), nil
}

func (c cluster) kubectl(args ...string) (string, error) {
	return command{args: append(c.administrator(), args...)}.output()
}

func (c cluster) apply(manifests string) error {
	return command{args: append(c.administrator(), "apply", "-f", "-"), input: manifests}.run()
}

// administrator returns the kubectl command: the one built with the node, or for another cluster the installed one.
func (c cluster) administrator() []string {
	if !c.own {
		return []string{"kubectl", "--kubeconfig", c.kubeconfig}
	}
	return []string{c.node.Program("kubectl"), "--kubeconfig", c.kubeconfig}
}

// read decodes the output of "kubectl get -o json" with args into the value that into points to.
func (c cluster) read(into any, args ...string) error {
	out, err := c.kubectl(append([]string{"get", "-o", "json"}, args...)...)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(out), into)
}

func (c cluster) helm(args ...string) (string, error) {
	return command{
		args: append([]string{c.node.Program("helm"), "--kubeconfig", c.kubeconfig}, args...),
		dir:  c.root,
	}.output()
}

// step prints what it does and how long it took.
func step(what string, do func() error) error {
	begin := time.Now()
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	fmt.Printf("%7.1f s  %s\n", time.Since(begin).Seconds(), what)
	return nil
}

// await calls ask until it returns nil, for at most the given time; then it returns the last error.
func await(ctx context.Context, most time.Duration, ask func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("waited %s", most))
	defer cancel()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
