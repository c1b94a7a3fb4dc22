package main

func pushRows() []row {
	return []row{
		{"cmd/a2a-server/internal/notify", "text.slack", use("escape.Replace()#1", "t.lines()"), "TestSlackMarkup", "no value in a message to Slack is markup"},
		{"task/push", "Deliverer.authenticate", never("scheme"), "TestDelivers", "a webhook gets the credentials that were set for it"},
		{"task/internal/outbox", "Outbox.begin", hangs(never("busy name")), "task/push TestOneNotificationAfterTheOther", "a webhook gets one notification after the other"},
		{"task/push", "job.Shares", hangs(use("perCaller", "maxWorkers")), "TestCallersLeaveWorkers", "new webhooks of one caller that hang leave workers to others"},
		{"task/push", "New", hangs(zero("ErrUseLastResponse")), "TestGivenUpAndRevived", "a notification follows no redirect"},
		{"task/internal/outbox", "Backoff.Fail", never("b.Tries#1"), "task/push TestBackoff", "a webhook that only fails is given up"},
		{"task/push", "job.one", hangs(never("f#2")), "TestRepeatsInOrder", "what a webhook has not accepted is sent again"},
		{"task/internal/outbox", "Outbox.Mine", returns("true", "nil"), "task/push TestOlderLeavesAlone", "a webhook of a younger process is left alone"},
		{"task/push", "job.unready", hangs(use("r.ready", "store.Any")), "TestGrowsWhileItIsSent", "what happens while a notification is sent is not lost"},
		{"task/push", "stateOf", use("hostOf()", "w.URL"), "TestDelivers", "operators see the host of a webhook, not its URL"},
	}
}
