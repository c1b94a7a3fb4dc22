package a2a

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"a2a-server/a2a/internal/card"
	"a2a-server/a2a/internal/operation"
	"a2a-server/a2a/internal/rest"
	"a2a-server/a2a/internal/wire"
	"a2a-server/auth"
	"a2a-server/internal/golden"
)

//go:generate go test -count=1 -run ^TestOpenAPIDocument$ . -update

// TestOpenAPIDocument compares the document that is served with its sources: the
// table of operations, the proto, and the table of errors.
func TestOpenAPIDocument(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	encode := json.NewEncoder(&b)
	encode.SetEscapeHTML(false)
	encode.SetIndent("", "  ")
	if err := encode.Encode(newDescription().document()); err != nil {
		t.Fatal(err)
	}
	golden.File(t, "openapi.json", b.String())
}

type object = map[string]any

// description is the document while it is made: the schemas are those of the messages that
// somebody has asked for.
type description struct{ schemas object }

func newDescription() *description {
	return &description{schemas: object{
		"Error": object{
			"description": "An error, as google.rpc.Status in JSON. Tell errors apart by the reason in the ErrorInfo of the domain " + wire.ErrorDomain + ".",
			"type":        "object", "required": []string{"error"},
			"properties": object{"error": object{
				"type": "object", "required": []string{"code", "status", "message", "details"},
				"properties": object{
					"code":    object{"type": "integer", "description": "The status of HTTP."},
					"status":  object{"type": "string", "description": "The name of a google.rpc.Code."},
					"message": object{"type": "string", "description": "What is wrong, where, and what to do next, for a person."},
					"details": object{"type": "array", "items": object{"oneOf": []object{ref("ErrorInfo"), ref("BadRequest")}}},
				},
			}},
		},
		"ErrorInfo": object{
			"description": "Why the request was refused. The first ErrorInfo has A2A's reason. A second one may have a more specific reason of this server, which is also in the metadata of the first.",
			"type":        "object", "required": []string{"@type", "domain", "reason"},
			"properties": object{
				"@type":    object{"const": wire.TypeErrorInfo},
				"domain":   object{"enum": []string{wire.ErrorDomain, wire.OwnDomain}},
				"reason":   object{"type": "string"},
				"metadata": object{"type": "object", "additionalProperties": object{"type": "string"}},
			},
		},
		"BadRequest": object{
			"description": "What is wrong with which fields.",
			"type":        "object", "required": []string{"@type", "fieldViolations"},
			"properties": object{
				"@type": object{"const": wire.TypeBadRequest},
				"fieldViolations": object{"type": "array", "items": object{
					"type": "object", "required": []string{"field", "description"},
					"properties": object{"field": object{"type": "string"}, "description": object{"type": "string"}},
				}},
			},
		},
	}}
}

func (d *description) document() any {
	paths := object{card.Path: object{
		"get": object{
			"operationId": "GetAgentCard", "summary": "Returns the agent card.",
			"parameters": []object{{"$ref": "#/components/parameters/version"}},
			"responses": object{
				"200": object{
					"description": "The card. If the request does not name version " + wire.Version + ", it also has the members that it has in A2A " + wire.OldVersion + ", unless the server does not serve that.",
					"headers":     object{"ETag": header("Changes with the card; If-None-Match is answered with 304.")},
					"content":     object{wire.TypeJSON: object{"schema": d.message((&a2apb.AgentCard{}).ProtoReflect().Descriptor())}},
				},
				"304": object{"description": "The card has not changed."},
				"403": ref403(),
			},
		},
	}}
	used := map[int]bool{http.StatusForbidden: true}
	for _, op := range operation.Table() {
		for i, r := range op.Routes {
			at, ok := paths[r.Path].(object)
			if !ok {
				at = object{}
				paths[r.Path] = at
			}
			at[strings.ToLower(r.Method)] = d.operation(op, i, used)
		}
	}
	responses := object{}
	for status := range used {
		responses[fmt.Sprint(status)] = errorResponse(status)
	}
	return struct {
		OpenAPI    string   `json:"openapi"`
		Info       object   `json:"info"`
		Servers    []object `json:"servers"`
		Paths      object   `json:"paths"`
		Components object   `json:"components"`
	}{
		"3.1.1",
		object{
			"title": "A2A over HTTP+JSON", "version": wire.Version,
			"description": "The HTTP+JSON binding of the A2A protocol (A2A " + wire.Version + " §11), as a2a-server serves it. Unknown fields of requests are ignored. Every path of an operation is also there with the caller's tenant before it, as in /{tenant}/tasks, which changes nothing else; any other tenant is an unknown path. " +
				"The agent card says which credentials are required and where else the agent can be reached. Paths of A2A " + wire.OldVersion + ", which begin with " + rest.OldPrefix + ", are not in this document.",
			"license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		},
		[]object{{"url": ".", "description": "Where this document is served."}},
		paths,
		object{"schemas": d.schemas, "responses": responses, "parameters": object{
			"version": parameter("header", operation.VersionHeader, object{"type": "string"},
				"The A2A version of the request: "+wire.Version+". It may be a query parameter instead."),
			"extensions": parameter("header", operation.ExtensionsHeader, object{"type": "string"},
				"URIs of the extensions that the client wants to use, separated by commas."),
			"lastEventID": parameter("header", "Last-Event-ID", object{"type": "string"},
				"The id of the last event that the client has seen of this task: the stream continues after it, even if the task has ended."),
		}},
	}
}

// operation describes the route of an operation, and notes which errors it uses.
func (d *description) operation(op operation.Operation, route int, used map[int]bool) object {
	r := op.Routes[route]
	methods := a2apb.File_a2av1_proto.Services().Get(0).Methods()
	m := methods.ByName(protoreflect.Name(op.Name))
	out := object{"operationId": op.Name, "summary": op.Summary}
	if route > 0 {
		out["operationId"] = op.Name + "By" + r.Method[:1] + strings.ToLower(r.Method[1:])
	}
	parameters := []object{{"$ref": "#/components/parameters/version"}, {"$ref": "#/components/parameters/extensions"}}
	fields := m.Input().Fields()
	var inPath []string
	for _, part := range strings.Split(r.Path, "{")[1:] {
		name, _, _ := strings.Cut(part, "}")
		inPath = append(inPath, name)
		p := parameter("path", name, object{"type": "string"}, map[bool]string{true: "The id of the task.", false: "The id of the configuration."}[name == "task_id" || op.Action != auth.Push])
		p["required"] = true
		parameters = append(parameters, p)
	}
	for i := range fields.Len() {
		if f := fields.Get(i); r.From == operation.InQuery && f.Name() != "tenant" && !slices.Contains(inPath, string(f.Name())) {
			parameters = append(parameters, parameter("query", f.JSONName(), d.field(f), ""))
		}
	}
	if op.Stream != nil {
		parameters = append(parameters, object{"$ref": "#/components/parameters/lastEventID"})
	}
	out["parameters"] = parameters
	statuses := []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable}
	if r.From == operation.InBody || r.From == operation.InOptionalBody && r.Method != http.MethodGet {
		schema := d.message(m.Input())
		out["requestBody"] = object{"required": r.From == operation.InBody, "content": object{wire.TypeA2A: object{"schema": schema}, wire.TypeJSON: object{"schema": schema}}}
		statuses = append(statuses, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	if op.Action == auth.Create {
		statuses = append(statuses, http.StatusInsufficientStorage)
	}
	if op.Action == auth.Create || len(inPath) > 0 { // each may name a task
		statuses = append(statuses, http.StatusNotFound)
	}
	responses := object{"200": d.success(op, m.Output())}
	for _, status := range statuses {
		used[status] = true
		responses[fmt.Sprint(status)] = object{"$ref": fmt.Sprintf("#/components/responses/%d", status)}
	}
	out["responses"] = responses
	return out
}

// success describes what an operation answers.
func (d *description) success(op operation.Operation, m protoreflect.MessageDescriptor) object {
	schema := d.message(m)
	active := header("The requested extensions that this server supports.")
	if op.Stream == nil {
		return object{
			"description": "The result, in the media type that Accept prefers, or else in that of the request.",
			"headers":     object{operation.ExtensionsHeader: active},
			"content":     object{wire.TypeA2A: object{"schema": schema}, wire.TypeJSON: object{"schema": schema}},
		}
	}
	return object{
		"description": "A stream of server-sent events. The data of each is a " + string(m.Name()) + " as JSON on one line, and its id is for Last-Event-ID. " +
			"A comment is sent while nothing happens. If a stream ends before its task ends or waits for input, resume it with SubscribeToTask.",
		"headers": object{operation.ExtensionsHeader: active},
		"content": object{"text/event-stream": object{"schema": object{
			"type": "string", "contentMediaType": wire.TypeJSON, "contentSchema": schema,
			"description": "The schema of the data of one event.",
		}}},
	}
}

// errorResponse describes the errors of a status, as the table of errors has them.
func errorResponse(status int) object {
	text := http.StatusText(status) + ".\n"
	var reasons, names []string
	for _, e := range wire.Errors {
		if e.Status != status || e.Error == &wire.ErrMethodNotFound || e.Error == &wire.ErrNoPath { // these are for no operation
			continue
		}
		text += fmt.Sprintf("\n- %#q: %s %s", e.Reason, e.When, e.Next)
		if !slices.Contains(reasons, e.Reason) {
			reasons = append(reasons, e.Reason)
		}
		if !slices.Contains(names, e.GRPC) {
			names = append(names, e.GRPC)
		}
	}
	out := object{"description": text, "content": object{wire.TypeJSON: object{"schema": object{"allOf": []object{
		ref("Error"),
		{"properties": object{"error": object{"properties": object{
			"code": object{"const": status}, "status": object{"enum": names},
			"details": object{"contains": object{"required": []string{"domain", "reason"}, "properties": object{
				"domain": object{"const": wire.ErrorDomain}, "reason": object{"enum": reasons},
			}}},
		}}}},
	}}}}}
	switch status {
	case http.StatusUnauthorized:
		out["headers"] = object{"WWW-Authenticate": header("The kind of credential that is required.")}
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		out["headers"] = object{"Retry-After": header("Seconds after which to try again.")}
	}
	return out
}

func ref(schema string) object { return object{"$ref": "#/components/schemas/" + schema} }

func ref403() object { return object{"$ref": "#/components/responses/403"} }

func header(text string) object {
	return object{"description": text, "schema": object{"type": "string"}}
}

func parameter(in, name string, schema object, text string) object {
	p := object{"in": in, "name": name, "schema": schema}
	if text != "" {
		p["description"] = text
	}
	return p
}

// message describes a message of the proto in ProtoJSON, and returns a reference to it.
func (d *description) message(m protoreflect.MessageDescriptor) object {
	name := string(m.Name())
	if d.schemas[name] != nil {
		return ref(name)
	}
	properties := object{}
	out := object{"type": "object", "properties": properties}
	d.schemas[name] = out // before its fields, which may have it again
	if text := messageTexts[name]; text != "" {
		out["description"] = text
	}
	var required []string
	fields := m.Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		properties[f.JSONName()] = d.field(f)
		behavior, _ := proto.GetExtension(f.Options(), annotations.E_FieldBehavior).([]annotations.FieldBehavior)
		if slices.Contains(behavior, annotations.FieldBehavior_REQUIRED) && !optionalHere[name+"."+f.JSONName()] {
			required = append(required, f.JSONName())
		}
	}
	if len(required) > 0 {
		out["required"] = required
	}
	for i := range m.Oneofs().Len() {
		if one := m.Oneofs().Get(i); !one.IsSynthetic() {
			var each []object
			for i := range one.Fields().Len() {
				each = append(each, object{"required": []string{one.Fields().Get(i).JSONName()}})
			}
			out["oneOf"] = each
		}
	}
	return ref(name)
}

// field describes a field.
func (d *description) field(f protoreflect.FieldDescriptor) object {
	if f.IsMap() {
		return object{"type": "object", "additionalProperties": d.value(f.MapValue())}
	}
	out := d.value(f)
	if f.IsList() {
		out = object{"type": "array", "items": out}
	}
	for key, value := range fieldRules[string(f.Parent().Name())+"."+f.JSONName()] {
		out[key] = value
	}
	return out
}

func (d *description) value(f protoreflect.FieldDescriptor) object {
	switch f.Kind() { //nolint:exhaustive // the kinds that A2A uses; another one fails
	case protoreflect.StringKind:
		return object{"type": "string"}
	case protoreflect.BoolKind:
		return object{"type": "boolean"}
	case protoreflect.Int32Kind:
		return object{"type": "integer", "format": "int32"}
	case protoreflect.BytesKind:
		return object{"type": "string", "contentEncoding": "base64"}
	case protoreflect.EnumKind:
		return d.enum(f.Enum())
	case protoreflect.MessageKind:
		switch m := f.Message(); m.FullName() {
		case "google.protobuf.Struct":
			return object{"type": "object"}
		case "google.protobuf.Value":
			return object{"description": "Any JSON."}
		case "google.protobuf.Timestamp":
			return object{"type": "string", "format": "date-time"}
		default:
			return d.message(m)
		}
	}
	panic(fmt.Sprintf("%s is of the kind %s, which no schema is known for", f.FullName(), f.Kind()))
}

// enum describes an enum by its names, without that of no value.
func (d *description) enum(e protoreflect.EnumDescriptor) object {
	name := string(e.Name())
	var names []string
	for i := range e.Values().Len() {
		if v := e.Values().Get(i); v.Number() != 0 {
			names = append(names, string(v.Name()))
		}
	}
	d.schemas[name] = object{"type": "string", "enum": names}
	return ref(name)
}

// optionalHere are the fields that a message of the proto must have and its JSON need not:
// the path says them.
var optionalHere = map[string]bool{"CancelTaskRequest.id": true, "SubscribeToTaskRequest.id": true}

// fieldRules are what fields are held to beside their types.
var fieldRules = map[string]object{
	"ListTasksRequest.pageSize":                       {"minimum": 1, "maximum": 100, "default": 50},
	"ListTaskPushNotificationConfigsRequest.pageSize": {"minimum": 0, "maximum": 100, "default": 50},
	"TaskPushNotificationConfig.id":                   {"maxLength": operation.MaxPushID},
	"TaskPushNotificationConfig.url":                  {"maxLength": operation.MaxPushURL},
	"TaskPushNotificationConfig.token":                {"maxLength": operation.MaxPushToken, "description": "It is sent with each notification, and never given back."},
	"AuthenticationInfo.scheme":                       {"maxLength": operation.MaxPushScheme},
	"AuthenticationInfo.credentials":                  {"maxLength": operation.MaxPushCredentials, "description": "They are sent with each notification, and never given back."},
	"ListTasksRequest.historyLength":                  {"minimum": 0},
	"GetTaskRequest.historyLength":                    {"minimum": 0},
	"SendMessageConfiguration.historyLength":          {"minimum": 0},
	"Message.parts":                                   {"minItems": 1, "maxItems": operation.MaxParts},
	"Message.messageId":                               {"minLength": 1},
}

var messageTexts = map[string]string{
	"AgentCard":                  "What an agent is, what it can do, and how to reach it.",
	"Artifact":                   "What a task has made.",
	"CancelTaskRequest":          "Optional: the path names the task.",
	"ListTasksResponse":          "A page of the caller's tasks. An empty nextPageToken marks the last page.",
	"Message":                    "A message from a client or the agent. Messages from clients have the role ROLE_USER.",
	"Part":                       "A piece of a message or of an artifact.",
	"SendMessageConfiguration":   "How to answer a message.",
	"SendMessageRequest":         "A message, and how to answer it. A message sent again with the same messageId is not processed again.",
	"SendMessageResponse":        "The task that a message belongs to, or a message that is the whole answer.",
	"StreamResponse":             "An event of a stream. The first one is the current task, or a message that is the whole answer.",
	"SubscribeToTaskRequest":     "Optional: the path names the task.",
	"Task":                       "A task, its history and its artifacts.",
	"TaskArtifactUpdateEvent":    "An artifact, or a piece of one.",
	"AuthenticationInfo":         "What is in the Authorization header of notifications.",
	"TaskPushNotificationConfig": "A webhook of a task. An id is made if none is given.",
	"TaskStatus":                 "The current state of a task, and a message about it.",
	"TaskStatusUpdateEvent":      "A change of a task's status.",
}
