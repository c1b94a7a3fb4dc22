// Package view has the [View] of a task: what its clients see, as JSON ready to send.
package view
