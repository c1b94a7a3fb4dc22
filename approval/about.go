package approval

import (
	"strings"

	"a2a-server/internal/visible"
	"a2a-server/tool"
)

// About is a tool's own description of itself, as it was when its call was asked about. The
// decider sees it as a claim: no gate reads it, and no digest covers it. Its texts are cut,
// and escaped as [visible.Line] does.
type About struct {
	Description string   `json:"description,omitempty"` // on one line, at most 500 characters
	Declared    []string `json:"declared,omitempty"`    // as [tool.Annotations.Words]
	Claimed     []string `json:"claimed,omitempty"`     // passed on by a [tool.Claimant]
}

// Limits of an About: characters of the description and of each claim, and the number of
// claims.
const (
	maxDescription = 500
	maxClaim       = 50
	maxClaims      = 8
)

// NewAbout returns the description, declarations and claims of a tool, or nil without any.
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
