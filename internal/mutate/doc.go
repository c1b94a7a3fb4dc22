// Command mutate shows that the tests notice when a promise is broken. It owns a table of
// mutations (the files rows_*.go), the operators they are made with (change.go) and the
// runner that tries them; it does not know the code.
//
//	go run ./internal/mutate [-row regexp] [-j workers] [-list] [-v]
//
// For each row it changes a function, builds the test binary of a package with the
// change (go build's -overlay: no file of the repository is touched), runs the test
// that the row names, and prints the outcome:
//
//	killed    the test failed, as it should
//	survived  the test passed: no test notices that the promise is broken
//	broken    the row proves nothing: its place is not there or there more than once, the
//	          mutant does not build, the test did not run or does not pass without the
//	          change, or it did not end and the row does not say that it hangs
//
// Before that, every test that the table names has to run and pass unchanged. Each run
// of a test is bounded in time: unchanged by minutes, on a mutant by a small multiple of
// the unchanged time.
//
// The exit code is 0 when every row is killed, 1 when a row survived, 2 when a row is
// broken or nothing could be tried. (go run turns 2 into 1.)
//
// # Adding a row
//
// A row stands for a promise that docs/design/promises.md makes, and that table names the
// function which the row changes; TestPromises checks it. The change is the smallest
// that breaks the promise. Its place consists of names, not of source text, so that the row
// survives changes nearby: prefer two names to a number. The test is the narrowest that
// has to notice. Run the row with -row and -v, and read why it was killed: a test that fails
// for another reason proves nothing. A row that survives shows a hole in the tests, so add a
// test, or code that nothing needs, so delete it.
package main
