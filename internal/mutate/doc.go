// Command mutate shows that the tests notice when a line that keeps a promise is
// changed. It owns a table of mutations ([Row], in the files rows*.go) and the runner
// that tries them; it does not know what the code does.
//
//	go run ./internal/mutate [-row regexp] [-j workers] [-list] [-v]
//
// For each row it replaces one piece of text in one file, builds the test binary of one
// package with it (go build's -overlay: no file of the repository is touched), runs the
// one test that the row names, and prints the outcome:
//
//	killed    the test failed, as it should
//	survived  the test passed: no test notices that the promise is broken
//	broken    the row proves nothing: its text does not occur exactly once, the mutant
//	          does not build, the test did not run or does not pass without the mutation,
//	          or it did not end and the row does not say that it hangs
//
// Before that, every test that the table names has to run and pass unchanged. Each run
// of a test is bounded in time: an unchanged one by minutes, a mutant by a small
// multiple of what the unchanged one took.
//
// The exit code is 0 when every row is killed, 1 when one survived, 2 when one is
// broken or nothing could be tried. (go run turns every one but 0 into 1.)
//
// # Adding a row
//
// Take the line that keeps the promise, and change it in the smallest way that breaks
// it and still compiles. What is just enough text around the change to occur once in its
// file, so that the row survives changes nearby; TestRows fails when it does not. Test is
// the narrowest test that has to notice; Package is its folder, if that is not the folder
// of File. A row belongs to the group (one function for each package) of the code that it
// changes. Run the row with -row and -v, and read why it was killed: a test that fails for another
// reason proves nothing. A row that survives shows a hole in the tests, so add a test, or
// a line that nothing needs, so delete it.
//
// docs/design/promises.md names the rows that show that a promise of the README is kept,
// by their Promise. A change to a Promise has to be made there too; TestPromises checks it.
package main
