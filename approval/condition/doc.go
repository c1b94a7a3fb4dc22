// Package condition evaluates conditions on calls, which are written in a part of CEL, the
// Common Expression Language. It owns that part, its names and its limits. It does not know
// what a condition is for.
//
// # The language
//
// A condition is true or false about args (the arguments of a call, by name), tool and agent
// (their names), and the requester: caller.subject, caller.tenant, caller.roles and caller.chain
// (the parties that act for it). It may compare (== != < <= > >=, and in for lists), calculate with numbers (+ - * /
// and, of whole numbers, %), join conditions (&& || ! ?:), and use size (of texts and lists), startsWith, endsWith,
// contains, matches (of a literal pattern in the syntax of package regexp), int, double, has,
// all and exists. Numbers of arguments are doubles: x % 2 is int(x) % 2.
//
// A condition on a decider, a principal who may answer an approval, may also use decider.subject,
// decider.tenant and decider.roles.
//
// # Failures
//
// A condition fails if it reads an argument that is missing or has another type, also within
// lists and objects, if a calculation has no result, or if it takes too long: a result that comes
// too late does not count. A || b is true if b is, even if a fails.
//
// What could never be meant is refused when a condition is compiled: numbers that doubles round,
// a literal list of values of different types, and names of types.
//
// The functions of CEL that would be false about another type, or slow, are replaced by functions of this
// package after the types are checked and before the expression is planned.
//
// # Limits
//
// A condition has at most 2,000 characters and 500 parts, and no all or exists within another.
// All and exists look at 5,000 elements at most. The conditions about a call share its time, see
// [Facts]: the cost limit of CEL does not bound time, so that functions which may be slow look
// at it themselves.
package condition
