// Command mutate shows that the tests notice when a line that keeps a promise is
// changed. It owns a table of mutations ([Row], in the files rows*.go) and the runner
// that tries them; it does not know what the code is for.
//
//	go run ./internal/mutate [-row regexp] [-j workers] [-list] [-v]
//
// For each row it builds the test binary of one package with one text of one file
// replaced (go build's -overlay: no file of the repository is touched), runs the one
// test that the row names, and says what came of it:
//
//	killed    the test failed, as it should
//	survived  the test passed: nobody notices that the promise is broken
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
// it and still compiles. What is as much text around the change as makes it occur once
// in its file, and no more, so that the row outlives changes nearby; TestRows says when
// it does not. Test is the narrowest test that has to notice; Package says where it is,
// when that is not the folder of File. A row of a group (one function for each package)
// stands where the code it changes is. Run it with -row and -v, and read why it was
// killed: a test that fails for another reason proves nothing. A row that survives is a
// hole in the tests, which gets a test, or a line that nothing needs, which goes.
//
// docs/design/promises.md says which rows show that a promise of the README is kept, by
// what they promise: who changes that here changes it there, and TestPromises says so.
package main
