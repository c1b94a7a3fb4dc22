package strictjson

import "hash/maphash"

// nameSet is a set of names, which may be slices of the input. Most objects are small and
// need no table.
type nameSet struct {
	few   [8][]byte
	n     int      // of few
	many  [][]byte // all, when there are more
	table []uint64 // of many: a power of two slots, at most half of them used
}

// seed keeps a sender from choosing names that collide.
var seed = maphash.MakeSeed()

// add reports whether name is new.
func (s *nameSet) add(name []byte) bool {
	if s.many == nil {
		for _, other := range s.few[:s.n] {
			if string(other) == string(name) {
				return false
			}
		}
		if s.n < len(s.few) {
			s.few[s.n] = name
			s.n++
			return true
		}
		s.grow(8 * len(s.few))
		for _, other := range s.few {
			s.put(other)
		}
	}
	if 2*len(s.many) >= len(s.table) {
		s.grow(2 * len(s.table))
	}
	return s.put(name)
}

// put adds a name to the table, and reports whether it is new. A slot holds half of the name's
// hash, and its index in many plus 1; if the slot is taken, the next is used.
func (s *nameSet) put(name []byte) bool {
	hash := maphash.Bytes(seed, name) >> 32
	i := s.slot(hash)
	for ; s.table[i] != 0; i = s.slot(i + 1) {
		if v := s.table[i]; v>>32 == hash && string(s.many[uint32(v)-1]) == string(name) {
			return false
		}
	}
	s.many = append(s.many, name)
	s.table[i] = hash<<32 | uint64(len(s.many))
	return true
}

func (s *nameSet) slot(i uint64) uint64 { return i & uint64(len(s.table)-1) }

func (s *nameSet) grow(slots int) {
	old := s.table
	s.table = make([]uint64, slots)
	for _, v := range old {
		if v == 0 {
			continue
		}
		i := s.slot(v >> 32)
		for s.table[i] != 0 {
			i = s.slot(i + 1)
		}
		s.table[i] = v
	}
}
