package netpol

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// settle is the time in which changes are collected before the table is written.
const settle = 50 * time.Millisecond

// Enforce updates the table with every change of the cluster until ctx ends.
func Enforce(ctx context.Context, kubeconfig string, log io.Writer) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	read := reader(factory)
	changed := make(chan struct{}, 1)
	if err := watch(factory, changed); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	last := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
		time.Sleep(settle)
		world, err := read()
		if err != nil {
			return err
		}
		table := world.Table()
		if table == last {
			continue
		}
		if err := set(ctx, table); err != nil {
			fmt.Fprintln(log, err)
			continue
		}
		last = table
	}
}

func reader(factory informers.SharedInformerFactory) func() (World, error) {
	pods, namespaces := factory.Core().V1().Pods().Lister(), factory.Core().V1().Namespaces().Lister()
	policies := factory.Networking().V1().NetworkPolicies().Lister()
	return func() (w World, err error) {
		if w.Pods, err = pods.List(labels.Everything()); err != nil {
			return w, err
		}
		if w.Namespaces, err = namespaces.List(labels.Everything()); err != nil {
			return w, err
		}
		w.Policies, err = policies.List(labels.Everything())
		return w, err
	}
}

func watch(factory informers.SharedInformerFactory, changed chan<- struct{}) error {
	note := func() {
		select {
		case changed <- struct{}{}:
		default: // a wake-up is already pending
		}
	}
	for _, informer := range []cache.SharedIndexInformer{factory.Core().V1().Pods().Informer(),
		factory.Core().V1().Namespaces().Informer(), factory.Networking().V1().NetworkPolicies().Informer()} {
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { note() },
			UpdateFunc: func(any, any) { note() }, DeleteFunc: func(any) { note() }}); err != nil {
			return err
		}
	}
	return nil
}

func set(ctx context.Context, table string) error {
	cmd := exec.CommandContext(ctx, "nft", "-f", "-")
	cmd.Stdin = strings.NewReader(table)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("nft: %w: %s\n%s", err, out, table)
	}
	return nil
}
