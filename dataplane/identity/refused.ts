/** Why a token is refused. The client gets the same answer as for a bad key; only the trace has the reason. */
export class TokenRefused extends Error {}
