// Package notify sends the messages of a route to people and programs: as a webhook signed by
// Standard Webhooks, to an incoming webhook of Slack, or as mail.
//
// A message carries text that callers and models choose. In mail and Slack each such value is
// on one line after its label, and has no effect: no header, markup, mention or link. The link
// to the page of an approval is the server's own, and opening it decides nothing.
//
// Errors are for the log and for operators. They name the host and the kind of failure, never
// the rest of a URL, a secret, or text of the other side.
//
// The package does not know routes, or when messages are due: task/notify does.
package notify
