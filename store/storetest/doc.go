// Package storetest is the conformance suite of package store. Every implementation passes all
// of [Run]; there is no skip list.
//
// Each case has its own backend with two handles on it. Each handle reads the writes of the
// other, and they compete for the same tasks, so that fencing and takeover are tested before a
// second process exists. The suite knows the contract in package store and no implementation.
//
// Where the contract allows several results (the order of rows with equal index keys, the
// error of a batch that is wrong in two ways), each of them passes.
package storetest
