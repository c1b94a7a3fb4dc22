// Package script is the planner that plays scenarios from a YAML file, for agents with a fixed
// behavior: for conformance kits, demonstrations and tests. It owns the format of that file.
// It calls real tools; their gates and approvals work as with any planner.
//
// # The file
//
// A file is a list of scenarios, at most 1 MiB:
//
//	scenarios:
//	  - name: greeting            # unique
//	    when:                     # all conditions must hold
//	      message_id_prefix: tck-
//	      text: hello             # the whole text of the message
//	      text_contains: ell
//	      data: {kind: greeting}  # a data part has at least this
//	    steps:
//	      - status: {text: "you said {text}"}
//	      - complete: {text: done}
//
// The first scenario that matches plays. A message that creates a task only plays scenarios
// without follow_up; a scenario without conditions matches every such message. A scenario
// whose when says follow_up: true is for a message that answers an ask, of any scenario: it
// takes over from its own first step. If none matches such an answer, the scenario that asked
// continues. A message that would create a task and matches nothing is answered with the list
// of scenarios. The text of a message is its text parts, joined by newlines. A scenario that
// no message can play, because an earlier scenario matches all its messages, or because
// nothing asks, is an error.
//
// # Steps
//
// Each step is a mapping with one key:
//
//	message   a direct Message, no task; only as the only step of a first message
//	status    a status update, still working
//	artifact  {id, name, description, metadata, extensions, text or parts}: a whole
//	          artifact. With append: true it appends to the artifact with that id, with
//	          last_chunk: false more of it will follow
//	chunks    {id, name, description, metadata, extensions, append, texts: […]}, or
//	          {…, count, text} with {n} from 1: an artifact in pieces
//	call      {tool, args, alias}: calls a tool and waits for the result
//	calls     a list of calls, made together
//	wait      a duration such as 50ms, durable
//	ask       asks for input, ask_auth for authorization; the scenario continues
//	          with the answer
//	complete, fail, reject, cancel
//	          ends the task in that state. A scenario that runs out of steps completes
//	error     a text, or {name, text}: as the first step for a first message it refuses
//	          the message with that error, later it fails the task
//
// Steps with content take a text ("status: hello"), {text: …} or {parts: […]}. All but message
// may be empty ("ask:"), and status also takes {metadata: …}, the metadata of the update. A
// part is one of {text}, {data}, {file_bytes} in base64, {file_text} and {file_url}, with
// optional media_type, filename and metadata.
//
// The name of an error is from A2A 1.0 §5.4, such as ContentTypeNotSupportedError, or
// InvalidParamsError or InternalError. It defaults to UnsupportedOperationError.
//
// In the strings of steps, {text} stands for the text of the newest message and {message_id}
// for its id. Anchors and aliases of YAML are not supported.
//
// # State
//
// A task stores its progress as the name of the scenario and the number of the next step. So a
// file may be changed while tasks are running, as long as the steps that they have done stay
// where they are; a task whose scenario was removed fails.
package script
