package process

import (
	"fmt"
	"net"
)

// TellReady tells systemd that the server accepts connections, as a unit of the type notify must
// (sd_notify(3)). socket is the value of NOTIFY_SOCKET; "": no unit waits.
func TellReady(socket string) error {
	if socket == "" {
		return nil
	}
	conn, err := net.Dial("unixgram", socket)
	if err == nil {
		_, err = conn.Write([]byte("READY=1"))
		_ = conn.Close()
	}
	if err != nil {
		return fmt.Errorf("tell systemd that the server is ready: %w", err)
	}
	return nil
}
