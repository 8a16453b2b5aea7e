/** The shape of the states that this page folds: the server's `SHAPE`. A page must not fold states of another shape. */
export const SHAPE = 9;
