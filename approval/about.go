package approval

import (
	"strings"

	"a2a-server/internal/visible"
	"a2a-server/tool"
)

// About is what a tool says about itself, as it was when its call was asked about. It is
// shown to whoever decides, as a claim: no rule reads it, and no digest covers it. Its texts
// are cut, and escaped as [visible.Line] does.
type About struct {
	Description string   `json:"description,omitempty"` // on one line, at most 500 characters
	Declared    []string `json:"declared,omitempty"`    // as [tool.Annotations.Words]
	Claimed     []string `json:"claimed,omitempty"`     // what a [tool.Claimant] passes on
}

// How much of what a tool says about itself is shown: characters of its description and of
// each claim, and claims.
const (
	maxDescription = 500
	maxClaim       = 50
	maxClaims      = 8
)

// NewAbout returns what a tool says about itself, or nil if that is nothing.
func NewAbout(d tool.Definition, is tool.Annotations) *About {
	a := &About{Description: visible.Clip(strings.Join(strings.Fields(d.Description), " "), maxDescription), Declared: is.Words()}
	for _, claim := range d.Claims[:min(len(d.Claims), maxClaims)] {
		a.Claimed = append(a.Claimed, visible.Clip(claim, maxClaim))
	}
	if a.Description == "" && a.Declared == nil && a.Claimed == nil {
		return nil
	}
	return a
}
