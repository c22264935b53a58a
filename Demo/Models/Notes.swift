import Mako

/// A notebook as the first version of a program knew it.
@Entity("Notebook") final class NotebookOfLastYear {
    var title: String = ""
}

/// The same table a version later: two properties more.
@Entity("Notebook") final class Notebook {
    var title: String = ""
    var pages: Int = 96
    var lentTo: String?
}
