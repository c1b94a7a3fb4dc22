package app

import (
	"context"

	"a2a-server/internal/app/cli"
	"a2a-server/internal/app/policycmd"
	"a2a-server/internal/app/signals"
	"a2a-server/internal/toolset"
)

// tryPolicy returns the function with which the commands of policy load a configuration.
func tryPolicy(p *cli.Program) policycmd.Try {
	return func(ctx context.Context, given *cli.Flags, visit func(context.Context, *toolset.State) error) error {
		c, err := toolsetOf(p, given)
		if err != nil {
			return err
		}
		ctx, stop := signals.Interruptible(ctx)
		defer stop()
		return toolset.Try(ctx, c, visit)
	}
}
