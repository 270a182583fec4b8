"""Operations written in Python over the primitives."""
