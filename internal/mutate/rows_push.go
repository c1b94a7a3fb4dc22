package main

// pushRows change what webhooks are told, by whom, and what is kept of them.
func pushRows() []Row {
	const (
		rules = "task/webhook.go"
		crud  = "task/engine/push.go"
		run   = "task/push/push.go"
		job   = "task/push/job.go"
	)
	return []Row{
		{
			File:    "store/next.go",
			What:    "\tif b.Rev != nil {\n\t\tn.Rev++",
			Into:    "\tif b.Rev != nil || b.Fence == nil {\n\t\tn.Rev++",
			Promise: "an aside conflicts with no turn",
			Package: "store/memstore",
			Test:    "TestStore/aside/next to a turn that runs",
		},
		{
			File:    "store/boltstore/round.go",
			What:    "aside && more != 0",
			Into:    "aside && more > 1<<20",
			Promise: "the header counts the due rows of asides",
			Test:    "TestSuite/aside/in every phase, and no new rev",
		},
		{
			File:    rules,
			What:    "if !d.pushes || len(",
			Into:    "if d.pushes || len(",
			Promise: "the batch of an event says that there is something for its webhooks",
			Package: "task",
			Test:    "TestWebhookIsToldOfWhatHappens",
		},
		{
			File:    "task/ended.go",
			What:    "d.pushes = true //",
			Into:    "d.pushes = d.pushes && true //",
			Promise: "the last chunk of an artifact is told with the end of its call",
			Package: "task",
			Test:    "TestWebhookIsToldOfAPause",
		},
		{
			File:    rules,
			What:    "case d.f.webhook(w.ID) != in.Replaces:",
			Into:    "case d.f.webhook(w.ID) != in.Replaces && false:",
			Promise: "a webhook replaces the one that was read",
			Package: "task",
			Test:    "TestWebhookIsToldOfWhatHappens",
		},
		{
			File:    rules,
			What:    "\t\tstart = in.Position\n",
			Into:    "",
			Promise: "a webhook that replaces another gets what that one has missed",
			Package: "task/push",
			Test:    "TestGivenUpAndRevived",
			Hangs:   true,
		},
		{
			File:    rules,
			What:    "len(d.f.Webhooks) >= d.rules.Limits.Webhooks",
			Into:    "len(d.f.Webhooks) > 1<<20",
			Promise: "a task has a bounded number of webhooks",
			Package: "task/engine",
			Test:    "TestWebhooksAreBounded",
		},
		{
			File:    rules,
			What:    "\td.quiet = true\n\td.removeWebhookRows(in.ID, n)\n",
			Into:    "\td.quiet = true\n",
			Promise: "a webhook that was deleted leaves nothing",
			Package: "task/push",
			Test:    "TestDeleted",
			Hangs:   true,
		},
		{
			File:    crud,
			What:    "w, err := e.pushRow(ctx, ScopeFor(by, auth.Push), id, config)",
			Into:    "w, err := e.pushRow(ctx, store.System(), id, config)",
			Promise: "the webhook of a foreign task is a missing one",
			Package: "task/engine",
			Test:    "TestWebhooksOfOthers",
		},
		{
			File:    crud,
			What:    "return by.May(auth.Push)",
			Into:    "return nil",
			Promise: "who may not set webhooks is told so before anything is read",
			Package: "task/engine",
			Test:    "TestWebhooksOfOthers",
		},
		{
			File:    run,
			What:    "return http.ErrUseLastResponse",
			Into:    "return nil",
			Promise: "a notification follows no redirect",
			Test:    "TestGivenUpAndRevived",
			Hangs:   true,
		},
		{
			File:    run,
			What:    "if d.hosts[host] >= maxPerHost {",
			Into:    "if d.hosts[host] >= maxWorkers {",
			Promise: "one host takes few of the workers",
			Test:    "TestWorkersAreBounded",
		},
		{
			File:    run,
			What:    "skip, full := d.busy[name] ||",
			Into:    "skip, full :=",
			Promise: "a webhook gets one notification after the other",
			Test:    "TestWorkersAreBounded",
			Hangs:   true,
		},
		{
			File:    job,
			What:    "Key: j.key, IfRev: r.ready, Delete: true",
			Into:    "Key: j.key, IfRev: store.Any, Delete: true",
			Promise: "what happens while a notification is sent is not lost",
			Test:    "TestGrowsWhileItIsSent",
			Hangs:   true,
		},
		{
			File:    job,
			What:    "case r.cursor.Epoch > mine:",
			Into:    "case r.cursor.Epoch > mine && false:",
			Promise: "a webhook of a younger process is left alone",
			Test:    "TestOlderLeavesAlone",
		},
		{
			File:    job,
			What:    "\tif f != nil {\n\t\treturn false, j.fail",
			Into:    "\tif f != nil && f.gone {\n\t\treturn false, j.fail",
			Promise: "what a webhook has not accepted is sent again",
			Test:    "TestRepeatsInOrder",
			Hangs:   true,
		},
		{
			File:    "task/push/backoff.go",
			What:    "if f.gone || c.Tries >= b.tries",
			Into:    "if f.gone || c.Tries > b.tries",
			Promise: "a webhook that only fails is given up",
			Test:    "TestBackoff",
		},
		{
			File:    "task/push/send.go",
			What:    "if w.Scheme != \"\" {",
			Into:    "if w.Scheme == \"-\" {",
			Promise: "a webhook gets the credentials that were set for it",
			Test:    "TestDelivers",
		},
		{
			File:    "task/push/list.go",
			What:    "hostOf(w.URL), c.Tries",
			Into:    "w.URL, c.Tries",
			Promise: "operators see the host of a webhook, not its URL",
			Test:    "TestDelivers",
		},
	}
}
