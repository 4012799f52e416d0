module gw.test/programs/otlp

go 1.22.0

require (
	go.opentelemetry.io/proto/otlp v1.5.0
	google.golang.org/protobuf v1.36.5
)
