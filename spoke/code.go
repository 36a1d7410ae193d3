package spoke

// Code is the machine-readable cause of a [Reject]. Two packages agree on a reject
// when they agree on its code; messages are for people.
type Code string

// The codes of wire spec, section 9.
const (
	CodeInvalidInput                          Code = "INVALID_INPUT"
	CodeInvalidStatus                         Code = "INVALID_STATUS"
	CodeInvalidStatusTransition               Code = "INVALID_STATUS_TRANSITION"
	CodeCandidateNotProvisional               Code = "CANDIDATE_NOT_PROVISIONAL"
	CodeCandidateTerminalStatus               Code = "CANDIDATE_TERMINAL_STATUS"
	CodeEmptyCanonicalName                    Code = "EMPTY_CANONICAL_NAME"
	CodeMergeTargetSelf                       Code = "MERGE_TARGET_SELF"
	CodeMissingRequiredField                  Code = "MISSING_REQUIRED_FIELD"
	CodeInvalidPacketInput                    Code = "INVALID_PACKET_INPUT"
	CodeRevisionConflict                      Code = "REVISION_CONFLICT"
	CodeStoredRevisionStale                   Code = "STORED_REVISION_STALE"
	CodeInvalidKnowledgeEntryStatus           Code = "INVALID_KNOWLEDGE_ENTRY_STATUS"
	CodeInvalidKnowledgeEntryStatusTransition Code = "INVALID_KNOWLEDGE_ENTRY_STATUS_TRANSITION"
	CodeDuplicateActiveKnowledgeEntry         Code = "DUPLICATE_ACTIVE_KNOWLEDGE_ENTRY"
	CodeKnowledgeEntryNotFound                Code = "KNOWLEDGE_ENTRY_NOT_FOUND"
	CodeKnowledgeEntryAlreadyExists           Code = "KNOWLEDGE_ENTRY_ALREADY_EXISTS"
	CodeKnowledgeEntryTerminalStatus          Code = "KNOWLEDGE_ENTRY_TERMINAL_STATUS"
	CodeRelationSelfEdge                      Code = "RELATION_SELF_EDGE"
	CodeRelationMissingEndpoint               Code = "RELATION_MISSING_ENDPOINT"
	CodeRelationNotFound                      Code = "RELATION_NOT_FOUND"
	CodeRelationAlreadyExists                 Code = "RELATION_ALREADY_EXISTS"
	CodeCapabilityPortMissing                 Code = "CAPABILITY_PORT_MISSING"
	CodeInternalError                         Code = "INTERNAL_ERROR"
)

// Codes returns every code of the protocol in the order of the wire spec.
func Codes() []Code {
	return []Code{
		CodeInvalidInput,
		CodeInvalidStatus,
		CodeInvalidStatusTransition,
		CodeCandidateNotProvisional,
		CodeCandidateTerminalStatus,
		CodeEmptyCanonicalName,
		CodeMergeTargetSelf,
		CodeMissingRequiredField,
		CodeInvalidPacketInput,
		CodeRevisionConflict,
		CodeStoredRevisionStale,
		CodeInvalidKnowledgeEntryStatus,
		CodeInvalidKnowledgeEntryStatusTransition,
		CodeDuplicateActiveKnowledgeEntry,
		CodeKnowledgeEntryNotFound,
		CodeKnowledgeEntryAlreadyExists,
		CodeKnowledgeEntryTerminalStatus,
		CodeRelationSelfEdge,
		CodeRelationMissingEndpoint,
		CodeRelationNotFound,
		CodeRelationAlreadyExists,
		CodeCapabilityPortMissing,
		CodeInternalError,
	}
}

// Kinds of a failure, the value of details.kind. They tell apart the ways in which
// an invoke can fail under one code.
//
// Source: wire spec, sections 3, 5, 8 and 9.
const (
	KindTransport                  = "transport"
	KindSessionClosed              = "session_closed"
	KindTimeout                    = "timeout"
	KindCanceled                   = "canceled"
	KindCorrelationMismatch        = "correlation_mismatch"
	KindEnvelopeAuthMissing        = "envelope_auth_missing"
	KindEnvelopeAuthInvalid        = "envelope_auth_invalid"
	KindEnvelopeAuthSessionUnbound = "envelope_auth_session_unbound"
	KindSequenceExhausted          = "sequence_exhausted"
	KindTokenInvalid               = "token_invalid"
	KindOverloaded                 = "overloaded"
	KindResult                     = "result"
	KindNoCapablePeer              = "no_capable_peer"
)

// Names of members of details that the protocol gives a meaning.
const (
	DetailKind     = "kind"
	DetailWireCode = "wire_code"
	DetailField    = "field" // of the payload; what is wrong
)
