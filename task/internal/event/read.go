package event

// ReadTask reads a Task event of any form: its status, with the metadata of the task as
// Metadata. Strings and JSON in the result may share memory with data.
func ReadTask(data []byte) (StatusUpdate, error) {
	if u, ok := parseTask(data); ok {
		return u, nil
	}
	return decodeTask(data)
}

// ReadStatus reads a status event of any form, as [ReadTask] does.
func ReadStatus(data []byte) (StatusUpdate, error) {
	if u, ok := parseStatus(data); ok {
		return u, nil
	}
	return decodeStatus(data)
}

// ReadArtifact reads an artifact event of any form, as [ReadTask] does.
func ReadArtifact(data []byte) (ArtifactUpdate, error) {
	if u, ok := parseArtifact(data); ok {
		return u, nil
	}
	return decodeArtifact(data)
}
