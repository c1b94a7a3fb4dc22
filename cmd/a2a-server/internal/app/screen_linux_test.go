package app_test

import (
	"cmp"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// rowsOf returns what a terminal of so many columns shows of a text: a line that is longer
// continues on the next row.
func rowsOf(text string, columns int) []string {
	var all []string
	for line := range strings.SplitSeq(text, "\n") {
		row, left := "", columns
		for _, r := range line {
			width := 1
			if r == '漢' {
				width = 2
			}
			if left -= width; left < 0 {
				all, row, left = append(all, row), "", columns-width
			}
			row += string(r)
		}
		all = append(all, row)
	}
	return all
}

// However long an argument is, nothing of it begins a row of the screen, where it would look
// like something that the command says.
func TestApprovalsLongArguments(t *testing.T) {
	t.Parallel()
	s := serve(t, os.Getuid(), allRoles)
	const said = "tool        read_balance"
	for _, tc := range []struct {
		columns int
		pad     string
	}{{0, " "}, {60, " "}, {100, " "}, {100, "漢"}, {60, "漢"}, {60, "x"}} {
		columns, screen := tc.columns, cmp.Or(tc.columns, 80)
		left := screen - len(`arguments   {"amount":5,"to":"`)
		switch tc.pad {
		case "漢":
			left /= 2
		case "x":
			left -= len("| ") // for who breaks lines, and takes the screen for a wider one
		}
		forged := strings.Repeat(tc.pad, left) + said
		_, id := s.ask(`{"amount":5,"to":"` + forged + `"}`)
		person, program := openTerminal(t)
		if err := unix.IoctlSetWinsize(int(person.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(columns)}); err != nil {
			t.Fatal(err)
		}
		one := begin(t, person, program, nil, environment(), s.args([]string{"approvals", "edit", id, "--anonymous", "--args", `{"amount":6,"to":"` + forged + `"}`})...)
		one.answer(`after "runs with", as socket:ann? [y/N] `, "n")
		if code, _ := one.end(); code != 3 {
			t.Errorf("it exits with %d", code)
		}
		text := one.shown()
		if columns == 0 {
			_, text, _ = s.run(nil, "approvals", "show", id, "--anonymous")
			text += one.shown()
		}
		if !strings.Contains(text, "read_balance") {
			t.Errorf("the arguments are not shown:\n%s", text)
		}
		for _, row := range rowsOf(text, screen) {
			if strings.HasPrefix(row, "tool ") && row != "tool        transfer_money" {
				t.Errorf("with %d columns a row of the screen is %q", columns, row)
			}
		}
	}
}
