// Package httptool builds tools that make one HTTP request. A tool is configured by a request
// with placeholders, which a call's arguments fill:
//
//	POST https://jira.example/issue/{project}?notify={notify}
//	Authorization: Bearer {secret:jira}
//
//	{"summary": "{summary}", "labels": "{labels}"}
//
// It owns the templates, the sending, and the reading of the response. It knows neither the
// source of secrets nor the caller.
//
// # Templates
//
//   - {name} is the argument of that name. {{ and }} are braces.
//   - {name*} is an argument that is an array, as one parameter for each element. It is
//     allowed as the whole value of a query or form parameter. Elsewhere in a URL, a form or
//     a header the elements of an array are joined by commas (RFC 6570 §3.2.1).
//   - {name[]} is an argument that is an object or an array, as one parameter for each value
//     in it, named by brackets: with the key filter, {"a": {"b": 1}, "c": ["x", "y"]} is
//     filter[a][b]=1&filter[c][0]=x&filter[c][1]=y. OpenAPI has it for objects, as the style
//     deepObject. It is allowed where {name*} is.
//   - {secret:name} is a secret. It is allowed only in the value of a header.
//
// Scheme, host and port have no placeholders, so a call cannot choose its server. An argument
// fills part of one path segment, one query or form value, one header value, or one value of a
// JSON body, and is escaped for that place. In a JSON body, a string that is only a
// placeholder is replaced by the argument with its type: an object stays an object.
//
// An argument that may be missing has a place of its own: the whole value of a parameter, a
// header or a member of an object, which is then left out. There, null in a URL, a form or a
// header also leaves it out.
//
// # Refusals
//
// An argument that makes a path segment empty, "." or "..", also if the server decodes it
// twice, takes an encoded slash for a separator, or characters such as U+FF0E for ASCII;
// control characters in a path or header; non-ASCII characters in a header. These are errors
// before anything is sent. The addresses of a server name are checked when they are dialed.
// Redirects are not followed.
//
// # Outcomes
//
// If a connection was established and no complete response came back, the request may have had
// its effect, and the error wraps [tool.ErrOutcomeUnknown]; so do the statuses 502 and 504 of
// a gateway. Any other status from 300 on is an error of the call. A request is never sent
// twice: it has a connection of its own, because the standard library repeats a GET or HEAD
// that was dropped together with an idle connection.
package httptool
