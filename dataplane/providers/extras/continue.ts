/** The user's words behind the last answer of the model, for APIs that continue no answer. */
export const CONTINUE = 'Please continue.'
