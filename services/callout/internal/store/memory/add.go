package memory

// Add puts reports into the store.
func (s *Store) Add(reports ...Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range reports {
		r.ChangedAt = s.clock.Now()
		s.state.reports[r.ID] = r
	}
}

// State returns what transactions have changed, for comparisons.
func (s *Store) State() any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.clone()
}
