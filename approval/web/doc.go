// Package web has the pages for people: the inbox of approvals, tasks, the history and a form to
// talk to the agent. Every page is an address, and works without a script: forms, POST and 303.
// The script adds what is live.
//
// The pages know the operations of package api, in the same process, and nothing of the engine.
// Who calls is decided by [Config.Identify]. Whatever comes from agents, tools and callers is
// text: templates escape it, and hidden characters are written as their code.
package web
