"""From estimates to what people read: audit rows, tables, figures, frozen rows. Only rows feed tables."""
