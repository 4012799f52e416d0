// Reads the metadata of a metrics-api trigger on standard input, asks as KEDA's operator does, and writes the value it gets.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/kedacore/keda/v2/pkg/scalers"
	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
	autoscaling "k8s.io/api/autoscaling/v2"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func main() {
	value, err := ask()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(value)
}

func ask() (float64, error) {
	metadata := map[string]string{}
	if err := json.NewDecoder(os.Stdin).Decode(&metadata); err != nil {
		return 0, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return 0, err
	}
	scheme := runtime.NewScheme()
	if err := discovery.AddToScheme(scheme); err != nil {
		return 0, err
	}
	cluster, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return 0, err
	}
	scaler, err := scalers.NewMetricsAPIScaler(&scalersconfig.ScalerConfig{
		TriggerMetadata: metadata,
		// What a trigger has that says nothing of it.
		MetricType: autoscaling.AverageValueMetricType,
		// Longer than KEDA's own three seconds: the machine of a test is busy.
		GlobalHTTPTimeout: 30 * time.Second,
	}, cluster)
	if err != nil {
		return 0, err
	}
	values, _, err := scaler.GetMetricsAndActivity(context.Background(), "gw")
	if err != nil {
		return 0, err
	}
	return values[0].Value.AsApproximateFloat64(), nil
}
