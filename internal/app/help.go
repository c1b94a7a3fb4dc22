package app

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	a2aserver "a2a-server"
	"a2a-server/internal/app/config"
)

const helpHead = `a2a-server serves the A2A protocol: it takes messages, runs tools, and asks a person
before it runs those that need approval.

Usage: a2a-server COMMAND [flags]

`

const helpTail = `
'a2a-server help serve' lists the flags. Each has a key in the configuration file and
an environment variable too; a flag overrides a variable, and a variable the file.
The file is named by --config, or else by A2A_SERVER_CONFIG.

Exit codes: 0 all went well, 1 something failed, 2 the command line or the
configuration is wrong.
`

// help writes what there is, or the flags of a command.
func (p *program) help(words []string) error {
	name := strings.Join(words, " ")
	if name == "" {
		return p.overview()
	}
	for _, c := range commands() {
		if c.name == name {
			return p.helpFor(c)
		}
	}
	return &usageError{fmt.Sprintf("there is no help on %q", name)}
}

func (p *program) overview() error {
	var b strings.Builder
	b.WriteString(helpHead)
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-14s %s\n", c.name, c.meaning)
	}
	fmt.Fprintf(&b, "  %-14s %s\n", "help [COMMAND]", "write this, or the flags of a command")
	b.WriteString(helpTail)
	_, err := fmt.Fprint(p.stdout, b.String())
	return err
}

func (p *program) helpFor(c command) error {
	var b strings.Builder
	fmt.Fprintf(&b, "a2a-server %s: %s\n", c.name, c.meaning)
	if c.flags {
		describe(&b, "config FILE", "The configuration file. Without this flag it is the value of "+fileVariable+", else there is none.")
		for _, k := range config.Keys() {
			about := k.Meaning + " Variable " + k.Variable()
			if k.Default != "" {
				about += ", default " + k.Default
			}
			describe(&b, k.Flag()+" ("+k.Value+")", about+".")
		}
	}
	_, err := fmt.Fprint(p.stdout, b.String())
	return err
}

// describe writes a flag, and what there is to say about it in lines that fit.
func describe(b *strings.Builder, name, about string) {
	const indent, width = "        ", 80
	fmt.Fprintf(b, "\n  --%s\n%s", name, indent)
	at := len(indent)
	for i, word := range strings.Fields(about) {
		switch {
		case i == 0:
		case at+1+len(word) > width:
			b.WriteString("\n" + indent)
			at = len(indent)
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += len(word)
	}
	b.WriteByte('\n')
}

func (p *program) version(context.Context, *flags) error {
	_, err := fmt.Fprintf(p.stdout, "a2a-server %s (%s, %s/%s)\n", a2aserver.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
