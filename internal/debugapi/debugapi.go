// Package debugapi serves what only operators on the server's machine may see, on the admin
// socket: profiles of the process, the level of its log, the details of its probe, backups of the
// store, and whether a restored store continues. It does not know the socket.
package debugapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"runtime/pprof"
	"slices"
	"strconv"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/auth"
	"a2a-server/internal/httpd"
	"a2a-server/store/boltstore"
)

// The paths, below which the rest is in the path of a request.
const (
	ProfilePath = "/debug/pprof/" // GET, and the name of a profile
	LevelPath   = "/debug/log/"   // POST, and a level
	ReadyPath   = "/readyz"       // GET
	ResumePath  = "/store/resume" // POST: see Resumed
	ReloadPath  = "/reload"       // POST: see Reloaded
)

// CPU is the profile of the processor, which takes time: the parameter seconds, 10 by default and
// at most 60.
const CPU = "profile"

// Levels returns the levels of a log.
func Levels() []string { return []string{"debug", "info", "warn", "error"} }

// Profiles returns the names of the profiles.
func Profiles() []string { return []string{"heap", "goroutine", CPU} }

// Resumed is the answer of [ResumePath].
type Resumed struct {
	Moment time.Time `json:"moment,omitzero"` // of the backup; zero: the store was never restored
	Held   bool      `json:"held"`            // the store waited for its operator until now
}

// Reloaded is the answer of [ReloadPath] when the configuration was reloaded; else it is the reason.
type Reloaded struct {
	Restart  []string `json:"restart,omitempty"`  // keys that have changed, and need a restart
	Warnings []string `json:"warnings,omitempty"` // about the new configuration, as in the log
}

// Config configures a handler. All fields but SetLevel and Backup are required.
type Config struct {
	Requests *httpd.Frontend // authenticates callers
	SetLevel func(level string)
	Ready    http.Handler
	Refusal  func() string                                                     // why the store cannot be used yet; "": it can
	Backup   func(ctx context.Context, to io.Writer) (boltstore.Backup, error) // writes a backup of the store; nil: it cannot be backed up
	BackedUp func(ctx context.Context, moment time.Time) error                 // is told of each backup that was verified; required with Backup
	// Resume lets a restored store continue, for a caller that may do [auth.Admin].
	Resume func(ctx context.Context, by auth.Principal) (moment time.Time, was bool, err error)
	Reload func() (Reloaded, error) // reads the configuration again
	Log    zerolog.Logger
}

// Handler serves the paths for callers that may do [auth.Admin], and the details of the probe for
// all known callers.
func Handler(c Config) http.Handler {
	mux := http.NewServeMux()
	backup, backedUp := c.backup, c.backedUp
	if c.Backup == nil {
		backup, backedUp = noBackup, noBackup
	}
	mux.HandleFunc("GET "+ProfilePath+"{name}", c.admin(c.profile))
	mux.HandleFunc("POST "+LevelPath+"{level}", c.admin(c.level))
	mux.HandleFunc("GET "+BackupPath, c.admin(c.ready(backup)))
	mux.HandleFunc("POST "+BackupPath+"/{moment}", c.admin(c.ready(backedUp)))
	mux.HandleFunc("POST "+ResumePath, c.admin(c.ready(c.resume)))
	mux.HandleFunc("POST "+ReloadPath, c.admin(c.reload))
	mux.HandleFunc("GET "+ReadyPath, c.known(func(w http.ResponseWriter, r *http.Request, _ auth.Principal) { c.Ready.ServeHTTP(w, r) }))
	return mux
}

type handler func(w http.ResponseWriter, r *http.Request, by auth.Principal)

// known serves known callers.
func (c *Config) known(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		by, err := c.Requests.Principal(w, r)
		if err != nil {
			status := http.StatusServiceUnavailable
			if refused, is := errors.AsType[*httpd.Error](err); is {
				status = refused.Status
			}
			http.Error(w, "you are neither the user that runs the server nor among the users in auth.socket", status)
			return
		}
		h(w, r, by)
	}
}

// admin serves callers that may manage the server.
func (c *Config) admin(h handler) http.HandlerFunc {
	return c.known(func(w http.ResponseWriter, r *http.Request, by auth.Principal) {
		if err := by.May(auth.Admin); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		h(w, r, by)
	})
}

// ready serves callers when the store can be used.
func (c *Config) ready(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request, by auth.Principal) {
		if why := c.Refusal(); why != "" {
			w.Header().Set("Retry-After", "1")
			http.Error(w, why, http.StatusServiceUnavailable)
			return
		}
		h(w, r, by)
	}
}

// profile answers with a profile in the form of pprof, as net/http/pprof does. That package cannot be
// used here: it also serves profiles, and the command line, on the default mux of each program that
// embeds the server.
func (c *Config) profile(w http.ResponseWriter, r *http.Request, by auth.Principal) {
	name, seconds := r.PathValue("name"), 10
	if text := r.URL.Query().Get("seconds"); text != "" {
		seconds, _ = strconv.Atoi(text) // 0 when it is no number
	}
	switch {
	case !slices.Contains(Profiles(), name):
		http.Error(w, "there is no such profile: use heap, goroutine or profile", http.StatusNotFound)
		return
	case seconds < 1 || seconds > 60:
		http.Error(w, "seconds is out of range: use 1 to 60", http.StatusBadRequest)
		return
	}
	c.Log.Info().Str("profile", name).Str("by", by.Subject).Msg("a profile of the process is taken")
	w.Header().Set("Content-Type", "application/octet-stream")
	if name != CPU {
		_ = pprof.Lookup(name).WriteTo(w, 0) // the client may be gone
		return
	}
	if err := pprof.StartCPUProfile(w); err != nil {
		http.Error(w, "another profile is being taken: try again when it has ended", http.StatusConflict)
		return
	}
	defer pprof.StopCPUProfile()
	select {
	case <-time.After(time.Duration(seconds) * time.Second):
	case <-r.Context().Done():
	}
}

// level sets the level of the log until the next reload.
func (c *Config) level(w http.ResponseWriter, r *http.Request, by auth.Principal) {
	level := r.PathValue("level")
	switch {
	case !slices.Contains(Levels(), level):
		http.Error(w, "there is no such level: use debug, info, warn or error", http.StatusNotFound)
	case c.SetLevel == nil:
		http.Error(w, "the program that embeds the server has a log of its own", http.StatusNotImplemented)
	default:
		c.SetLevel(level)
		c.Log.WithLevel(zerolog.NoLevel).Str("log_level", level).Str("by", by.Subject).Msg("the level of the log was changed until the next reload")
		w.WriteHeader(http.StatusNoContent)
	}
}

// resume lets a restored store continue.
func (c *Config) resume(w http.ResponseWriter, r *http.Request, by auth.Principal) {
	moment, was, err := c.Resume(r.Context(), by)
	if err != nil {
		c.Log.Error().Err(err).Str("by", by.Subject).Msg("the restored store cannot be resumed")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(Resumed{Moment: moment, Held: was}) // the client may be gone
}

// reload reads the configuration again.
func (c *Config) reload(w http.ResponseWriter, _ *http.Request, by auth.Principal) {
	c.Log.Info().Str("by", by.Subject).Msg("a reload was asked for")
	reloaded, err := c.Reload()
	if err != nil {
		c.Log.Error().Err(err).Str("by", by.Subject).Msg("the configuration was not reloaded and stays as it was; keys and certificates are reloaded separately")
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(reloaded) // the client may be gone
}
