/** Why a token is not taken. The client hears what every bad key hears; the reason is for the trace. */
export class TokenRefused extends Error {}
