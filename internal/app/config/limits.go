package config

import (
	"time"
)

// maxGrace is longer than any supervisor waits.
const maxGrace = 24 * time.Hour

// Limits are the limits that an operator sets. The server derives all other bounds from them.
type Limits struct {
	Memory        int64         `yaml:"memory" default:"1GiB" min:"32MiB" or:"0" doc:"Soft limit of memory (docs/operations.md)."`
	Disk          int64         `yaml:"disk" default:"0" min:"1MiB" or:"0" doc:"Disk that the store may use before new tasks are refused; existing tasks continue, so leave room. 0: no limit."`
	DiskPerCaller int64         `yaml:"disk_per_caller" default:"0" min:"1MiB" or:"0" doc:"The same for the events of a caller's tasks, plus 2 KiB for each; on disk up to twice as much."`
	Body          int64         `yaml:"body" default:"4MiB" min:"1KiB" max:"64MiB" doc:"Size of a request's body."`
	Task          int64         `yaml:"task" default:"64MiB" min:"128KiB" max:"64MiB" doc:"Size of all events of a task. Before it is full, only decisions and results are accepted."`
	Connections   int           `yaml:"connections" default:"16384" min:"1" doc:"Connections open at once, and requests in progress. An address may have a quarter."`
	Streams       int           `yaml:"streams" default:"10000" min:"1" doc:"Streams open at once, and messages that wait for their tasks."`
	Turns         int           `yaml:"running_tasks" default:"2048" min:"1" doc:"Tasks that run at once in their first second; with older tasks, four times as many."`
	Queue         int           `yaml:"queue" default:"10000" min:"1" doc:"Tasks that may wait to run; then new tasks are refused, decisions never."`
	PerCaller     int           `yaml:"per_caller" default:"25" min:"1" max:"100" doc:"A caller's share of streams, turns and queue, in percent."`
	Rate          int           `yaml:"rate" default:"0" max:"1000000" doc:"Requests a second of a caller (without auth: of an address), twice as many at once. 0: no limit."`
	AuthFailures  int           `yaml:"auth_failures" default:"60" max:"1000000" doc:"Refused credentials of an address a minute. 0: no limit."`
	ReadTimeout   time.Duration `yaml:"read_timeout" default:"30s" min:"1ms" doc:"How long a request may take to arrive; its header at most 10s of that."`
	ToolTimeout   time.Duration `yaml:"tool_timeout" default:"5m" min:"1ms" doc:"How long a run of a tool may take."`
	PlanTimeout   time.Duration `yaml:"plan_timeout" default:"2m" min:"1ms" doc:"How long a planner may take for a step."`
	Grace         time.Duration `yaml:"grace" default:"8s" doc:"How long running calls may continue at shutdown, at most 24h."`
}
