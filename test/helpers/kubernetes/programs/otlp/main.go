// Reads a batch of spans on standard input with the official definitions, and writes it as JSON.
package main

import (
	"fmt"
	"io"
	"os"

	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

func main() {
	// A request of the collector's service has the fields of TracesData.
	var batch trace.TracesData
	bytes, err := io.ReadAll(os.Stdin)
	if err == nil {
		err = proto.Unmarshal(bytes, &batch)
	}
	if err == nil && len(batch.ProtoReflect().GetUnknown()) > 0 {
		err = fmt.Errorf("it has unknown fields")
	}
	if err == nil {
		bytes, err = protojson.Marshal(&batch)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Stdout.Write(bytes)
}
