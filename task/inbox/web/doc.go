// Package web serves the pages for people: the inbox of approvals, tasks, the history and a
// form to talk to the agent. Every page is an address, and works without a script: forms, POST
// and 303. The script adds live updates.
//
// The pages know the operations of package api, in the same process, and nothing of the
// engine. [Config.Identify] determines the caller. All content from agents, tools and callers
// is text: templates escape it, and hidden characters are written as their code.
package web
