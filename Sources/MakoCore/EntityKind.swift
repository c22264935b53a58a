/// Distinguishes structs from classes in overloads.
public enum EntityKind {
    /// The kind of structs.
    public enum Value {}
    /// The kind of classes.
    public enum Object {}
}
