package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "mutate:", err)
	}
	os.Exit(code)
}

// command is the program: it returns the exit code.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	only := flags.String("row", "", "try only the rows whose line in -list matches this `regexp`")
	workers := flags.Int("j", 2, "how many mutants are built and run at once, `n`")
	list := flags.Bool("list", false, "print the rows and try none")
	verbose := flags.Bool("v", false, "say how each mutant was noticed")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0, nil
	} else if err != nil {
		return exitBroken, nil //nolint:nilerr // the flag set has said it
	}
	if flags.NArg() > 0 || *workers < 1 {
		return exitBroken, fmt.Errorf("unexpected argument %q, or fewer than one worker", flags.Args())
	}
	table, err := selected(rows(), *only)
	if err != nil {
		return exitBroken, err
	}
	if *list {
		for i := range table {
			_, _ = fmt.Fprintln(stdout, &table[i])
		}
		return 0, nil
	}
	root, err := moduleRoot()
	if err != nil {
		return exitBroken, err
	}
	r := newRunner(root, stdout)
	r.workers, r.verbose = *workers, *verbose
	verdicts, err := r.run(ctx, table)
	if err != nil {
		return exitBroken, err
	}
	return exitCode(verdicts), nil
}
