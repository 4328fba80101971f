//! The categories of commands, by which the palette groups them.

osier_base::words! {
    /// The topic of a command. The palette shows it before the description, in this order.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum CommandCategory {
        Prompt = "Prompt",
        Run = "Run",
        Model = "Model",
        Account = "Account",
        Session = "Session",
        Tabs = "Tabs",
        Settings = "Settings",
        Tools = "Tools",
        Application = "Application",
        Conversation = "Conversation",
        Files = "Files",
        Tree = "Tree",
        List = "List",
        Editor = "Editor",
    }
}
