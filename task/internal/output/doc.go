// Package output encodes what a run of a tool publishes: chunks and artifacts, reports of its
// progress, and checkpoints. A [Publisher] makes a [RunEvent] of each.
package output
