// Package deploy tests the files beside it, with which people run the server: images,
// clusters, units and proxies. The tests are a separate module, so that the parsers of these
// files are no dependency of the server.
package deploy
