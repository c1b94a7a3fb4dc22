// Package deploy is the tests of the files beside it, with which people run the server:
// images, clusters, units and proxies. They are a module of their own, so that what reads
// these files is nobody's dependency.
package deploy
