// Command mpi-operator runs the MPI operator's controller beside a control plane.
//
// The module's own main package serves its health at port 8080 of every address, which two targets
// on one machine cannot share, and takes a lease that a restart would wait 15 seconds for. This one
// has the same flags, listens where it is told and says that it is ready once its caches are.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"github.com/kubeflow/mpi-operator/cmd/mpi-operator/app/options"
	mpijobs "github.com/kubeflow/mpi-operator/pkg/client/clientset/versioned"
	mpijobinformers "github.com/kubeflow/mpi-operator/pkg/client/informers/externalversions"
	"github.com/kubeflow/mpi-operator/pkg/controller"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

func main() {
	klog.InitFlags(nil)
	settings := options.NewServerOption()
	settings.AddFlags(flag.CommandLine)
	health := flag.String("health-address", "127.0.0.1:8080", "Where to serve /readyz.")
	flag.Parse()
	if err := run(settings, *health); err != nil {
		klog.ErrorS(err, "The controller ended")
		klog.FlushAndExit(klog.ExitFlushTimeout, 1)
	}
}

// run works until SIGTERM or SIGINT.
func run(settings *options.ServerOption, health string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	config, err := clientcmd.BuildConfigFromFlags(settings.MasterURL, settings.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = float32(settings.QPS), settings.Burst
	config = rest.AddUserAgent(config, "mpi-operator")
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	jobs, err := mpijobs.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client of MPIJobs: %w", err)
	}
	objects := informers.NewSharedInformerFactory(kube, 0)
	mpi := mpijobinformers.NewSharedInformerFactory(jobs, 0)
	// No client of a gang scheduler: Kueue admits an MPIJob as a whole.
	operator, err := controller.NewMPIJobController(
		ctx, kube, jobs, nil, nil,
		objects.Core().V1().ConfigMaps(),
		objects.Core().V1().Secrets(),
		objects.Core().V1().Services(),
		objects.Batch().V1().Jobs(),
		objects.Core().V1().Pods(),
		objects.Scheduling().V1().PriorityClasses(),
		mpi.Kubeflow().V2beta1().MPIJobs(),
		settings,
	)
	if err != nil {
		return fmt.Errorf("making the controller: %w", err)
	}
	objects.Start(ctx.Done())
	mpi.Start(ctx.Done())
	failed := make(chan error, 1)
	go func() { failed <- serve(ctx, health, objects, mpi) }()
	go func() { failed <- operator.Run(settings.Threadiness, ctx.Done()) }()
	return <-failed
}

// serve answers /readyz with 503 until all caches are filled.
func serve(
	ctx context.Context,
	address string,
	objects informers.SharedInformerFactory,
	mpi mpijobinformers.SharedInformerFactory,
) error {
	var ready atomic.Bool
	go func() {
		objects.WaitForCacheSync(ctx.Done())
		mpi.WaitForCacheSync(ctx.Done())
		ready.Store(true)
	}()
	mux := http.NewServeMux()
	mux.HandleFunc("/readyz", func(answer http.ResponseWriter, _ *http.Request) {
		if !ready.Load() {
			http.Error(answer, "waiting for the caches", http.StatusServiceUnavailable)
		}
	})
	listening := &http.Server{Addr: address, Handler: mux}
	if err := listening.ListenAndServe(); err != nil {
		return fmt.Errorf("serving %s: %w", address, err)
	}
	return nil
}
