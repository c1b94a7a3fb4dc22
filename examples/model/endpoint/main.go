// Command endpoint stands in for a language model: an endpoint of chat completions that follows a
// script, to try planner llm without a model. It understands "transfer 250 to alice".
package main

import (
	"flag"
	"log"
	"net"
	"net/http"
	"time"

	"a2a-server/internal/demo"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:11434", "the `address`; the default is that of Ollama")
	flag.Parse()
	l, err := net.Listen("tcp", *listen) //nolint:noctx // it lasts as long as the program
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("the endpoint is http://%s/v1", l.Addr())
	server := &http.Server{Handler: http.HandlerFunc(demo.Complete), ReadTimeout: 10 * time.Second}
	log.Fatal(server.Serve(l))
}
