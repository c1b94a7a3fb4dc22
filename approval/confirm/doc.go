// Package confirm has the words of Haystack's human in the loop: a [Policy] says whether a person
// is asked about a call, a [UI] asks, a [Strategy] makes a [Decision] of the answer, and
// [Strategies] find the strategy of a tool. Policies, consoles, strategies and decisions are
// written and read in Haystack's serialized form. Its classes are also read by short names: always_ask,
// never_ask, ask_once, simple_console, rich_console, blocking and hook.
//
// [Strategies.Decider] decides approvals of a server with them: durable, and audited. In doubt
// nothing runs: an unknown action of a UI asks again, a tool without strategy is left to the client,
// and no console has a default answer.
package confirm
