/**
 * Faults that random conversations show and that are not mended yet, by kind; the fakes let such requests pass. A mend
 * takes its lines out.
 */
export const KNOWN: Readonly<Record<string, string>> = {
  'answer: arguments': 'A call is cut in two by words.',
  'answer: arguments that are no JSON': 'A call without arguments reaches the client with "".',
  'answer: broken event looks whole': 'An event that cannot be read is left out of an answer.',
  'answer: call without an id': 'A call without an id passes to a client of chat completions.',
  'answer: calls': 'Calls of a stream are joined, or cut in two.',
  'answer: finish': 'The finish contradicts the calls of the answer.',
  'answer: id of an earlier call': 'The id of a call is that of an earlier turn.',
  'answer: id with other letters': 'The id of a call has letters that the API of messages refuses.',
  'answer: name of a call': 'A name that comes late or again is lost or doubled.',
  'answer: one id for two calls': 'A call that is cut in two has one id twice.',
  'answer: picture': 'A picture that the model has painted is dropped.',
  'answer: the SDK raises': 'Pieces of a call are cut in two, so that its arguments are no JSON.',
  'meaning: text of model': 'TGI does not see the words beside calls, and no header says so.',
  'request: call-id-twice': 'Ids of calls repeat over turns.',
  'request: call-name': 'Calls of the history have names that are too long.',
  'request: tool-name': 'Names of tools are too long for the vendor.',
}
