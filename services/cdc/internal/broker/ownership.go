package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/IBM/sarama"
)

// ownership is what the brokers say of who works on the group's partitions.
type ownership struct {
	settled bool     // no rebalance is under way
	members []string // their ids, in order
	given   map[string]int
	vacant  int // partitions that belong to no member
}

// ownership asks who the members of the group are, and which partitions of topics they were given.
func (p *Positions) ownership(ctx context.Context, topics []string) (ownership, error) {
	o := ownership{given: map[string]int{}}
	err := p.ask(ctx, func(admin sarama.ClusterAdmin) error {
		partitions, err := partitionsOf(admin, topics)
		if err != nil {
			return err
		}
		groups, err := admin.DescribeConsumerGroups([]string{p.cfg.Group})
		if err != nil {
			return fmt.Errorf("describe group %s: %w", p.cfg.Group, err)
		}
		if len(groups) != 1 || !errors.Is(groups[0].Err, sarama.ErrNoError) {
			return fmt.Errorf("describe group %s: no answer", p.cfg.Group)
		}
		o.settled = groups[0].State == "Stable"
		return o.count(groups[0], partitions)
	})
	return o, err
}

func (o *ownership) count(group *sarama.GroupDescription, partitions map[string][]int32) error {
	for _, ids := range partitions {
		o.vacant += len(ids)
	}
	for id, member := range group.Members {
		o.members = append(o.members, id)
		assignment, err := member.GetMemberAssignment()
		if err != nil {
			return fmt.Errorf("assignment of a member: %w", err)
		}
		if assignment == nil {
			continue
		}
		for topic, ids := range assignment.Topics {
			if partitions[topic] != nil {
				o.given[id] += len(ids)
				o.vacant -= len(ids)
			}
		}
	}
	slices.Sort(o.members)
	return nil
}

// evict takes this process's name out of the group: a member with a name keeps its partitions when it leaves.
func (p *Positions) evict(ctx context.Context) error {
	return p.ask(ctx, func(admin sarama.ClusterAdmin) error {
		if _, err := admin.RemoveMemberFromConsumerGroup(p.cfg.Group, []string{p.cfg.InstanceID}); err != nil {
			return fmt.Errorf("leave group %s: %w", p.cfg.Group, err)
		}
		return nil
	})
}
