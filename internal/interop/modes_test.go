package interop

import "path/filepath"

// modes are the ways of all clients, in the order of docs/clients.md.
func modes(p programs) []mode {
	sample := func(venv, name string, more ...string) []string {
		return append([]string{p.python[venv], examples(name)}, more...)
	}
	script := func(name string) []string {
		return []string{p.node, filepath.Join(filepath.Dir(p.script), name), "{payee}"}
	}
	drive := func(venv string, more ...string) []string {
		return append([]string{p.python[venv], "python/" + venv + "/drive.py"}, more...)
	}
	ask := func(venv string, more ...string) []string {
		return append([]string{p.python[venv], "python/" + venv + "/ask.py"}, more...)
	}
	agents := func(name string, more ...string) []string {
		return append([]string{p.node, filepath.Join(p.jsagents, name)}, more...)
	}
	const pay, command = "pay 5 to {payee}", "/transfer_money amount=5 to={payee}"
	return []mode{
		{client: "a2a-sdk for Python", way: "stream", argv: sample("a2a-sdk", "wait.py", "{payee}"), waits: true, check: true},
		{client: "a2a-sdk for Python", way: "blocking", argv: []string{p.python["a2a-sdk"], "python/a2a-sdk/blocking.py", "{payee}"}, waits: true},
		{client: "a2a-sdk for Python", way: "poll", argv: sample("a2a-sdk", "poll.py", "{payee}"), waits: true, check: true},
		{client: "a2a-sdk for Python", way: "webhook", argv: sample("a2a-sdk", "webhook.py", "{payee}"), waits: true, check: true},
		{client: "@a2a-js/sdk", way: "stream", argv: script("wait.mjs"), waits: true, check: true},
		{client: "@a2a-js/sdk", way: "blocking", argv: script("blocking.mjs"), waits: true},
		{client: "@a2a-js/sdk", way: "poll", argv: script("poll.mjs"), waits: true, check: true},
		{client: "@a2a-js/sdk", way: "webhook", argv: script("webhook.mjs"), waits: true, check: true},
		{client: "ADK for Python, root", way: "stream", argv: sample("google-adk", "adk_agent.py", "root", command, "/echo text=next_{payee}"), next: "next_{payee}", check: true},
		{client: "ADK for Python, sub-agent", way: "stream", agent: true, argv: sample("google-adk", "adk_agent.py", "sub", command), check: true},
		{client: "ADK for Python, `AgentTool`", way: "stream", agent: true, argv: sample("google-adk", "adk_agent.py", "tool", command), check: true},
		{client: "LangGraph tool", way: "stream", agent: true, argv: sample("tools", "langgraph_agent.py", pay), waits: true, check: true},
		{client: "LangChain tool", way: "stream", agent: true, argv: sample("tools", "langchain_agent.py", pay), waits: true, check: true},
		{client: "OpenAI Agents tool", way: "stream", agent: true, argv: sample("tools", "openai_agent.py", pay), waits: true, check: true},
		{client: "PydanticAI tool", way: "stream", agent: true, argv: sample("tools", "pydantic_agent.py", pay), waits: true, check: true},
		{client: "CrewAI tool", way: "stream", agent: true, argv: sample("crewai-tool", "crewai_agent.py", pay), waits: true},
		{client: "ADK for Go", way: "blocking", argv: []string{p.adkgo, "{url}"}, talks: "whole", proxy: true},
		{client: "ADK for Go", way: "stream", argv: []string{p.adkgo, "{url}"}, talks: "stream", proxy: true, check: true},
		{client: "ADK for JavaScript, root", way: "stream", argv: []string{p.node, filepath.Join(p.js03, "adk.mjs"), "{url}", "{key}"}, talks: "remote", check: true},
		{client: "ADK for JavaScript, sub-agent", way: "stream", agent: true, argv: []string{p.node, filepath.Join(p.js03, "adk.mjs"), "{url}", "{key}"}, talks: "model"},
		{client: "Agent Framework", way: "blocking", argv: drive("agent-framework", "{url}"), talks: "url", proxy: true},
		{client: "Agent Framework", way: "stream", argv: drive("agent-framework", "{url}"), talks: "card", proxy: true, check: true},
		{client: "BeeAI", way: "blocking", argv: drive("beeai", "{url}", "{key}"), talks: "whole"},
		{client: "BeeAI", way: "stream", argv: drive("beeai", "{url}", "{key}"), talks: "stream", check: true},
		{client: "CrewAI, delegation", way: "poll", agent: true, argv: drive("crewai", "{url}", "{key}"), talks: "poll"},
		{client: "CrewAI, delegation", way: "stream", agent: true, argv: drive("crewai", "{url}", "{key}"), talks: "stream", check: true},
		{client: "Strands", way: "blocking", argv: drive("strands", "{url}", "{key}"), talks: "whole"},
		{client: "Strands", way: "stream", argv: drive("strands", "{url}", "{key}"), talks: "stream", check: true},
		{client: "Strands, `a2a_client`", way: "blocking", agent: true, argv: drive("strands", "{url}", "{key}"), talks: "tool"},
		{client: "AI SDK, `generateText`", way: "blocking", argv: []string{p.node, filepath.Join(p.js03, "provider.mjs"), "{url}"}, talks: "generate", proxy: true},
		{client: "AI SDK, `streamText`", way: "stream", argv: []string{p.node, filepath.Join(p.js03, "provider.mjs"), "{url}"}, talks: "stream", proxy: true, check: true},
		{client: "the a2a command line", way: "blocking", argv: []string{p.cli, "send", "--timeout", "10m", "{url}", command, "--svc-param", "X-API-Key={key}"}},
		{client: "the a2a command line", way: "stream", argv: []string{p.cli, "send", "--stream", "--timeout", "10m", "{url}", command, "--svc-param", "X-API-Key={key}"}, check: true},
		{client: "ag2 1.2.1", way: "poll", argv: ask("ag2", "poll", "{payee}")},
		{client: "ag2 1.2.1", way: "stream", argv: ask("ag2", "stream", "{payee}"), waits: true},
		{client: "agentscope 2.0.11", way: "stream", argv: ask("agentscope", "stream", "{payee}"), text: true},
		{client: "agentscope 2.0.11", way: "blocking", argv: ask("agentscope", "blocking", "{payee}"), text: true},
		{client: "Mastra 1.71.0", way: "blocking", argv: agents("mastra.mjs", "blocking", "{payee}")},
		{client: "Mastra 1.71.0", way: "stream", argv: agents("mastra.mjs", "stream", "{payee}")},
		{client: "Gemini CLI 0.61.0, remote agent", way: "stream", agent: true, argv: agents("gemini.mjs", "{payee}")},
	}
}

// String names the mode.
func (m mode) String() string { return m.client + ", " + m.way }
