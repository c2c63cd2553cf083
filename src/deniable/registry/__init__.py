"""Everything that is chosen by name: mechanisms, methods, trainers and the zoo, published ones included."""
